package nemesis

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestScheduleRoundTrip(t *testing.T) {
	property(t, func(t *testing.T, r *rand.Rand) {
		s := &Schedule{
			Version: scheduleVersion, Nemesis: "kill", Interval: time.Duration(fromTo[int64](r, 1, 1e12)),
			Quorum: pick(r, []Quorum{QuorumAny, QuorumSafe}), Nodes: nodeNames(4), Faults: []*Scheduled{},
		}
		var at time.Duration
		for range fromTo(r, 0, 4) {
			at += time.Duration(fromTo[int64](r, 0, 1e12))
			s.Faults = append(s.Faults, &Scheduled{
				Fault: pick(r, []string{"kill:one@height=50+10s", "partition", "pause+3blocks"}),
				Seed:  [2]uint64{r.Uint64(), r.Uint64()},
				Nodes: pick(r, [][]string{nil, {"n2"}}), Targets: `["n2"]`,
				At: at, Height: r.Uint64(), Ops: fromTo[int64](r, 0, 1e9),
				Stay: time.Duration(fromTo[int64](r, 0, 1e12)),
			})
		}
		text := s.Encode()
		got, err := DecodeSchedule(text)
		if err != nil || !reflect.DeepEqual(got, s) {
			t.Fatalf("%s\n%+v, %v", text, got, err)
		}
		// Half of it is an error, with a place, never a shorter schedule.
		cut := fromTo(r, 0, len(text)-2)
		if _, err := DecodeSchedule(text[:cut]); err == nil || !strings.HasPrefix(err.Error(), "line ") {
			t.Fatalf("half of it: %v", err)
		}
	})
}

func TestScheduleErrors(t *testing.T) {
	head := "{\"schedule\": 1, \"nemesis\": \"kill\", \"interval_ns\": 1, \"quorum\": \"any\", \"nodes\": [\"n1\"],\n \"faults\": [\n  "
	for text, want := range map[string]string{
		"":                     "line 1, column 1: ends too early",
		"{\n \"schedule\": x}": "line 2, column 14: invalid character 'x'",
		"{\"schedule\": 2}":    "line 1, column 1: schedule 2: expected version 1",
		"{\n\"sheddule\": 1}":  "line 2, column 1: field \"sheddule\": unknown",
		head + "{\"fault\": \"kill\", \"targets\": \"[]\"}]}\n{}":                                                       "line 4, column 1: expected the end",
		head + "{\"fault\": \"kill\", \"targets\": \"[]\"},\n  {\"fault\": \"kil\"}]}":                                  "line 4, column 3: nemesis \"kil\": unknown",
		head + "{\"fault\": \"kill\", \"targets\": \"[\"}]}":                                                            "line 3, column 3: targets \"[\"",
		head + "{\"fault\": \"kill\", \"targets\": \"[]\", \"at_ns\": -1}]}":                                            "line 3, column 3: at_ns -1",
		head + "{\"fault\": \"kill\", \"targets\": \"[]\", \"at_ns\": 5}, {\"fault\": \"kill\", \"targets\": \"[]\"}]}": "line 3, column 51: at_ns 0: expected none below",
		head + "null]}": "fault null",
		// Nodes that there are not, wherever they are named.
		head + "{\"fault\": \"kill\", \"targets\": \"[]\"},\n  {\"fault\": \"kill\", \"nodes\": [\"n7\"], \"targets\": \"[]\"}]}": "line 4, column 3: fault 2 of 2, \"kill\": node \"n7\": unknown; the nodes are n1",
		head + "{\"fault\": \"kill\", \"targets\": \"[\\\"alice\\\"]\"}]}":                                                        "line 3, column 3: fault 1 of 1, \"kill\": node \"alice\": unknown; the nodes are n1",
		head + "{\"fault\": \"partition\", \"targets\": \"{:cut {\\\"n1\\\" #{\\\"bob\\\"}}}\"}]}":                                "node \"bob\": unknown",
		strings.Replace(head, `"n1"`, `"n1", "alice"`, 1) + "]}":                                                                  "nodes: \"alice\" in place 2: expected \"n2\"",
	} {
		if _, err := DecodeSchedule([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngot %v\nwant %s", text, err, want)
		}
	}
}
