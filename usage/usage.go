// Package usage is the error for what the person at the terminal got wrong. It
// names the flag or the place in the file, the value, and what would be right.
package usage

import "fmt"

// Error is a fault of whoever gave the options or the file.
type Error struct{ err error }

func (e *Error) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.err }

// Errorf returns an *Error.
func Errorf(format string, args ...any) error { return &Error{fmt.Errorf(format, args...)} }
