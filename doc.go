// Package jepgo is the root of the module. It holds no code: the rooms of the
// house are its folders, and the test beside this file holds their walls.
package jepgo
