package main

import (
	"io"
	"os"
	"strings"

	"github.com/mattn/go-isatty"
)

// isTerminal reports whether a person watches w.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && isatty.IsTerminal(file.Fd()) && os.Getenv("TERM") != "dumb"
}

// quote makes s one word of a POSIX shell.
func quote(s string) string {
	if s != "" && !strings.ContainsAny(s, " \t\n'\"\\$`!*?[]{}()<>|&;#~") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
