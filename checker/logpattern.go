package checker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"

	"github.com/jepgo/jepgo/history"
)

// LogPattern returns the checker log-file-pattern: no line of the files may match.
// Each match is an anomaly of the node after whose folder the file's own is named,
// n1 for n1/db.log; the history is not looked at, so the witness is the line in the
// message.
//
// Where Jepsen differs: there the pattern is of the kind that grep -P takes, and a
// node without the file passes; here it is Go's (RE2, linear in the line), and a
// file that cannot be read makes the answer Unknown, unless another one matches.
// No file at all is Unknown.
//
// O(bytes) time; of a line longer than 1 MiB only the beginning is matched.
func LogPattern(pattern *regexp.Regexp, files ...string) Stream {
	return &logPattern{pattern: pattern, files: files}
}

type logPattern struct {
	pattern *regexp.Regexp
	files   []string
}

const longestLine = 1 << 20

func (*logPattern) Name() string { return "log-file-pattern" }

func (*logPattern) Take(*history.Event) {}

func (l *logPattern) Finish(ctx context.Context, _ history.Source) Result {
	r := Result{Checker: l.Name()}
	if l.pattern == nil {
		r.Reason = "there is no pattern"
		return r
	}
	matches := 0
	var unread string
	for _, file := range l.files {
		n, err := l.search(ctx, file, &r)
		matches += n
		if ctx.Err() != nil {
			return Ended(ctx, l.Name())
		}
		if err != nil {
			if unread == "" {
				unread = fmt.Sprintf("log cannot be read: %v", err)
			}
			r.Warnings = append(r.Warnings, fmt.Sprintf("log cannot be read: %v", err))
			continue
		}
		r.Facts++
	}
	r.Stats = []Stat{{"matches", fmt.Sprint(matches)}, {"files", fmt.Sprint(r.Facts)}}
	switch {
	case matches > 0:
		r.Verdict = Invalid
		r.Reason = fmt.Sprintf("%s of %s match %q", plural(matches, "line"), plural(r.Facts, "file"), l.pattern)
	case unread != "":
		r.Reason = unread
	case len(l.files) == 0:
		r.Reason = "there is no log"
	default:
		r.Verdict = Valid
		r.Reason = fmt.Sprintf("no line of %s matches %q", plural(r.Facts, "file"), l.pattern)
	}
	return r
}

// search looks through one file and returns how many lines match.
func (l *logPattern) search(ctx context.Context, file string, r *Result) (matches int, err error) {
	f, err := os.Open(file)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 64<<10)
	var long []byte
	for number := 1; ; number++ {
		if number%CheckEvery == 0 && ctx.Err() != nil {
			return matches, nil
		}
		line, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			long = long[:0]
			for errors.Is(err, bufio.ErrBufferFull) {
				long = append(long, line[:min(len(line), longestLine-len(long))]...)
				line, err = in.ReadSlice('\n')
			}
			line = append(long, line[:min(len(line), longestLine-len(long))]...)
		}
		for len(line) > 0 && (line[len(line)-1] == '\n' || line[len(line)-1] == '\r') {
			line = line[:len(line)-1]
		}
		if (len(line) > 0 || err == nil) && l.pattern.Match(line) {
			if matches++; matches <= enough {
				r.Anomalies = append(r.Anomalies, Anomaly{
					Name: "log-file-pattern", Nodes: []string{filepath.Base(filepath.Dir(file))},
					Message: fmt.Sprintf("Line %d of %s matches: %s", number, file, cut(string(line))),
				})
			}
		}
		if err == io.EOF {
			return matches, nil
		}
		if err != nil {
			return matches, err
		}
	}
}
