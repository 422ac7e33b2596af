//go:build !linux

package chain_test

func hugePages() {}
