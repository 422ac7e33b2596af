package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jepgo/jepgo/history"
	"github.com/jepgo/jepgo/history/format"
	"github.com/jepgo/jepgo/usage"
)

// NewConvert returns the command that writes a history in another format.
func NewConvert() *cobra.Command {
	var from, to, path string
	cmd := &cobra.Command{
		Use:   "convert FILE",
		Short: "Write a history in another format",
		Long: `Write a history in another format: EDN as Jepsen writes it, one array of JSON, or
one JSON object a line. FILE is of any format that check reads, - for standard
input. JSON has no keywords, sets, characters or tags: what they become there is
read back where the place says what it was (:type, :f, micro-operations), and is
text otherwise.`,
		Example: "  jepgo convert --to json history.edn > history.json\n  jepgo convert --to edn history.json -o history.edn",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage.Errorf("%d arguments: want one FILE (- for standard input)", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(format.Targets(), to) {
				return usage.Errorf("--to %q: want one of %s", to, strings.Join(format.Targets(), ", "))
			}
			ctx, stop := Interruptible(cmd.Context())
			defer stop()
			f, err := format.Open(args[0], from)
			if err != nil {
				return usage.Errorf("%w", err)
			}
			defer f.Close()
			if err := writeFile(path, cmd.OutOrStdout(), func(w io.Writer) error { return format.Convert(ctx, f, to, w) }); err != nil {
				return fault(err)
			}
			for _, note := range losses(f) {
				fmt.Fprintf(cmd.ErrOrStderr(), "%s: note: %s\n", cmd.Root().Name(), note)
			}
			return nil
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&to, "to", "", "format to write: "+strings.Join(format.Targets(), ", "))
	fs.StringVar(&from, "format", format.Auto, "format of FILE (default: by its content)")
	fs.StringVarP(&path, "output", "o", "", "file to write (default standard output)")
	CompleteWith(cmd, "to", format.Targets)
	CompleteWith(cmd, "format", formats)
	return cmd
}

// fault marks an error about the content of a file as the user's.
func fault(err error) error {
	if syntax := (*history.SyntaxError)(nil); errors.As(err, &syntax) {
		return usage.Errorf("%w", err)
	}
	return err
}

// losses says what of f is not in what was written.
func losses(f *format.File) []string {
	var notes []string
	if cut := f.Cut(); cut != nil {
		notes = append(notes, cut.Error()+"; what was written does not show that")
	}
	if skipped := f.Skipped(); skipped != nil {
		notes = append(notes, skipped.String())
	}
	t := f.Traits()
	if t.NilAbsent {
		notes = append(notes, "in "+f.Format()+" a read of nil saw that nothing was there: judge what was written with --nil absent")
	}
	if t.Keyed {
		notes = append(notes, "values are [key value]: judge what was written with --independent, or the model kv")
	}
	if t.NoRealtime {
		notes = append(notes, f.Format()+" has no real time: judge what was written by models without it")
	}
	return notes
}
