// Package live holds the tests that need real nodes: they build the jepgo
// binary and use it as a person would. They are behind the build tag live,
// since each takes from half a minute to some minutes:
//
//	go test -tags live ./live
package live
