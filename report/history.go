package report

import (
	"bufio"
	"io"

	"github.com/jepgo/jepgo/history"
)

// HistoryText writes h as Jepsen's history.txt: process, type, :f and value,
// and the error where there is one, with tabs between them, one op a line.
func HistoryText(w io.Writer, h *history.History) error {
	b := bufio.NewWriter(w)
	for i := range h.Ops {
		op := &h.Ops[i]
		b.WriteString(op.Process.String())
		b.WriteString("\t:")
		b.WriteString(op.Type.String())
		b.WriteString("\t:")
		b.WriteString(op.F)
		b.WriteByte('\t')
		b.Write(op.Value.Append(b.AvailableBuffer()))
		if !op.Error.IsNil() {
			b.WriteByte('\t')
			b.Write(op.Error.Append(b.AvailableBuffer()))
		}
		b.WriteByte('\n')
	}
	return b.Flush()
}
