package main

import (
	"io"
	"os"
	"strings"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"
)

// isTerminal reports whether a person watches w.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && isatty.IsTerminal(file.Fd()) && os.Getenv("TERM") != "dumb"
}

// completeWith lets the shell complete a flag's value from a list.
func completeWith(cmd *cobra.Command, flag string, names []string) {
	err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic("completion of a flag that does not exist: " + err.Error())
	}
}

// quote makes s one word of a POSIX shell.
func quote(s string) string {
	if s != "" && !strings.ContainsAny(s, " \t\n'\"\\$`!*?[]{}()<>|&;#~") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
