package judge

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"github.com/jepgo/jepgo/history"
	"github.com/jepgo/jepgo/history/historytest"
)

// wrongSources are questions on which we disagree with the source, and why the
// source is wrong. Keys are "name | options".
var wrongSources = map[string]string{}

// TestCorpus asks every question of the corpus that has an answer, with the
// options that it names, and wants that answer.
func TestCorpus(t *testing.T) {
	rows := historytest.Rows(t)
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // many small histories are not worth collecting
	var mu sync.Mutex
	agree := make(map[string]int)
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var wait sync.WaitGroup
	for _, row := range rows {
		switch row.Expected {
		case "valid", "invalid", "unknown":
		default:
			continue
		}
		o, err := optionsOf(t, row)
		if err != nil {
			t.Errorf("%s: %v", row.Name, err)
			continue
		}
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			j, err := File(context.Background(), row.Path, o)
			got, reason := "error", ""
			if err != nil {
				reason = err.Error()
			} else {
				got, reason = j.Verdict.String(), j.Reason()
			}
			mu.Lock()
			defer mu.Unlock()
			if got == row.Expected {
				agree[row.Model]++
				return
			}
			key := row.Name + " | " + row.Options
			if why, ok := wrongSources[key]; ok {
				t.Logf("%s: %s, the source says %s: %s", key, got, row.Expected, why)
				return
			}
			t.Errorf("%s (%s): %s, want %s %s: %s", key, row.Model, got, row.Expected, row.Anomalies, reason)
		})
	}
	wait.Wait()
	t.Logf("agreements: %v", agree)
}

// optionsOf reads the model and options columns of a row as flags.
func optionsOf(t *testing.T, row historytest.Row) (Options, error) {
	o := Options{Model: row.Model, Memory: 4 << 30}
	rest := row.Options
	if !strings.HasSuffix(rest, "beside it") && strings.HasPrefix(rest, "consistency-models=") {
		rest, _, _ = strings.Cut(rest, " (") // prose
	}
	for part := range strings.SplitSeq(rest, "; ") {
		if err := option(t, &o, row, strings.TrimSpace(part)); err != nil {
			return o, err
		}
	}
	switch initial := row.Initial; {
	case strings.HasPrefix(initial, ":nil "):
		o.Initial = ":nil"
	case row.Model == "multi-register":
		o.Initial = initial
	}
	return o, nil
}

func option(t *testing.T, o *Options, row historytest.Row, part string) error {
	if strings.HasPrefix(part, "{") {
		return elleOptions(t, o, part)
	}
	before, _, _ := strings.Cut(part, " (")
	switch {
	case part == "", before == "linearizability", strings.HasPrefix(part, "total inferred"), before == "default",
		before == "negative balances not allowed", before == "check per key", before == "consistency-models default":
	case part == "nil reads always legal (Knossos)":
		o.Nil = "any"
	case strings.HasPrefix(part, "a nil read means the key is absent"):
		o.Nil = "absent"
	case strings.HasPrefix(part, "independent keys"):
		o.Keyed = true
	case before == "sequential consistency":
		o.Consistency = []string{"sequential"}
	case strings.HasPrefix(part, "consistency-models="):
		o.Consistency = strings.Split(strings.TrimPrefix(before, "consistency-models="), ",")
	case part == "version order taken from the .log beside it":
		o.VersionOrder = strings.TrimSuffix(row.Path, ".edn") + ".log"
	case strings.HasPrefix(part, "anomaly "):
		o.Anomalies = []string{strings.TrimPrefix(part, "anomaly ")}
	case strings.HasPrefix(part, "group-size "):
		_, err := fmt.Sscanf(part, "group-size %d", &o.GroupSize)
		return err
	case strings.HasPrefix(part, "isolation level "):
		level := strings.TrimSuffix(strings.TrimPrefix(part, "isolation level "), " consistency")
		o.Consistency = []string{strings.ReplaceAll(level, " ", "-")}
	case part == "transactional causal consistency", part == "causal consistency":
		o.Consistency = []string{"causal"}
	case part == "snapshot isolation", part == "serializable":
		o.Consistency = []string{strings.ReplaceAll(part, " ", "-")}
	default:
		return fmt.Errorf("options %q are not known to this test", part)
	}
	return nil
}

// elleOptions reads Elle's options map, which prose in brackets may follow.
func elleOptions(t *testing.T, o *Options, text string) error {
	v, err := history.ParseValue(text[:strings.LastIndex(text, "}")+1])
	if err != nil {
		return err
	}
	names := func(field string) []string {
		list, _ := v.Field(field)
		var names []string
		for _, e := range list.Elems() {
			names = append(names, e.Text())
		}
		return names
	}
	flag := func(field string) bool {
		f, _ := v.Field(field)
		b, _ := f.Flag()
		return b
	}
	o.Consistency, o.Anomalies = names("consistency-models"), names("anomalies")
	o.Sequential, o.LinearizableKeys, o.WritesFollow = flag("sequential-keys?"), flag("linearizable-keys?"), flag("wfr-keys?")
	if size, ok := v.Field("group-size"); ok {
		n, _ := size.Int()
		o.GroupSize = int(n)
	}
	if model, ok := v.Field("queue-model"); ok {
		o.Queue = strings.TrimSuffix(model.Text(), "-queue")
	}
	if order, ok := v.Field("transaction-order"); ok {
		o.VersionOrder = filepath.Join(t.TempDir(), "order.edn")
		return os.WriteFile(o.VersionOrder, []byte(order.String()), 0o600)
	}
	return nil
}
