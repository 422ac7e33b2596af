package format

import (
	"context"
	"errors"
	"io"

	"github.com/jepgo/jepgo/history"
)

func readEDN(r io.Reader, _ bool) history.Reader { return history.EDN().Reader(r) }

// scanned is an EDN history, whose events come from a Scan.
type scanned struct {
	stream
	scan *history.Scan
}

func openEDN(in *input) (*scanned, error) {
	s := &scanned{stream: stream{in: in, begin: readEDN}}
	var err error
	if in.kept == nil {
		s.scan, err = history.OpenScan(in.path, history.ScanOptions{})
		return s, err
	}
	if _, err := in.kept.Seek(0, io.SeekStart); err != nil {
		return nil, in.failed(err)
	}
	if s.scan, err = history.NewScan(in.kept, history.ScanOptions{}); err != nil {
		return nil, in.failed(err)
	}
	return s, nil
}

func (s *scanned) each(ctx context.Context, take func(*history.Event) error) error {
	if s.in.kept == nil {
		return s.scan.Each(ctx, take) // which names the file
	}
	var taken error
	err := s.scan.Each(ctx, func(e *history.Event) error {
		taken = take(e)
		return taken
	})
	if err == nil || taken != nil || errors.Is(err, ctx.Err()) {
		return err
	}
	return s.in.failed(err)
}

func (s *scanned) cut() *history.CutError {
	if cut := s.scan.Cut(); cut != nil {
		return cut
	}
	return s.stream.cut()
}

func (s *scanned) skipped() *history.Skipped { return s.scan.Skipped() }

func (s *scanned) source() history.Source { return s.scan }

func (s *scanned) close() error { return s.scan.Close() }
