package history

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/iotest"
)

func TestSkip(t *testing.T) {
	tests := []struct {
		name, text string
		indexes    string // of the ops that are left
		skipped    int
		first      string // where and why
	}{
		{"weird key", "{:index 0}\n{:index 1, :value {:weird key 1}}\n{:index 2}\n", "0 2", 1, `line 2, column 32 (byte 42): map has a key without a value: "1"`},
		{"the first op", "{:index 0 :weird key 1}\n{:index 1}", "1", 1, "line 1, column 23"},
		{"two of them", "{:index 0}\n{:x 1a}\n{:x 1b}\n{:index 3}", "0 3", 2, `line 2, column 5 (byte 15): number "1a"`},
		{"apart", "{:index 0}\n{:x 1a}\n{:index 2}\n{:x 1b}\n{:index 4}", "0 2 4", 2, `number "1a"`},
		{"many lines", "{:index 0}\n{:index 1\n :value [1a\n {:index 7}\n 2]}\n{:index 2}", "0 2", 1, `line 3, column 10`},
		{"vector", "[{:index 0}\n {:index 1 :value (1 2]}\n {:index 2}]\n", "0 2", 1, `line 2, column 23`},
		{"indented vector", "[\n  {:index 0}\n  {:index 1\n    :value\n    {:weird key 1}\n   }\n  {:index 2}\n]", "0 2", 1, "line 5, column 18"},
		{"list of records", "(#a.Op{:index 0}\n #a.Op{:index 1 :x 08}\n #a.Op{:index 2})", "0 2", 1, `number "08"`},
		{"metadata", "^{:a 1} {:index 0 :x}\n^{:a 1} {:index 1}\n{:index 2}", "2", 1, "line 1, column 21"},
		{"namespaced", "#:n{:index 0 :x}\n#:n{:_/index 1}", "1", 1, "line 1, column 16"},
		{"comment in between", "{:index 0 :x}\n; {:index 1}\n#_ {:index 2}\n{:index 3}", "3", 1, "line 1"},
		{"CRLF", "{:index 0 :x}\r\n{:index 1}\r\n", "1", 1, "line 1"},
		{"zeros", "{:index 0}\n{:index 1, :x \x00\x00\x00\x00\n{:index 2}\n", "0 2", 1, "line 2, column 15 (byte 25): unexpected byte 0x00"},
		{"binary", "{:index 0 :x \x01}\n{:index 1}", "1", 1, "unexpected byte 0x01"},
	}
	for _, tt := range tests {
		h, err := ReadAll(iotest.OneByteReader(strings.NewReader(tt.text)), EDN())
		if err != nil || h.Cut != nil || h.Skipped == nil {
			t.Errorf("%s: cut %v, error %v, skipped %v", tt.name, h.Cut, err, h.Skipped)
			continue
		}
		var indexes []string
		for i := range h.Ops {
			indexes = append(indexes, fmt.Sprint(h.Ops[i].Index))
		}
		if got := strings.Join(indexes, " "); got != tt.indexes || h.Skipped.Ops != tt.skipped || !strings.Contains(h.Skipped.First.Error(), tt.first) {
			t.Errorf("%s: ops %s are left, %v; want %s, %d skipped, %s", tt.name, got, h.Skipped, tt.indexes, tt.skipped, tt.first)
		}
		for size := 1; size < len(tt.text); size += 1 + size/3 {
			if err := checkScan([]byte(tt.text), 2, size); err != nil {
				t.Errorf("%s in chunks of %d: %v", tt.name, size, err)
			}
		}
		// A Reader cannot tell what it skips, so it does not.
		r := EDN().Reader(strings.NewReader(tt.text))
		for err == nil {
			_, err = r.Read()
		}
		if syntax := (*SyntaxError)(nil); !errors.As(err, &syntax) || !strings.Contains(err.Error(), tt.first) {
			t.Errorf("%s: a Reader ends with %v, want %s", tt.name, err, tt.first)
		}
	}
}

// What has no op behind it, or is beyond a limit, is not passed over.
func TestNoSkip(t *testing.T) {
	tests := []struct {
		name, text, want string
		ops              int
	}{
		{"last op", "{:index 0}\n{:x 1a}\n", `line 2, column 5 (byte 15): number "1a" cannot be read`, 1},
		{"no op at all", "{:x 1a}\n{:x 1b}\n{:x 1c}", `line 1, column 5 (byte 4): number "1a"`, 0},
		{"on one line", "{:index 0} {:x 1a} {:index 1}", `number "1a"`, 1},
		{"deep", "{:x " + strings.Repeat("[", maxDepth+1) + "\n{:index 0}", "nested more than", 0},
		{"json lines", "{\"type\": \"ok\"}\n{\"type\": \"ok\"}\n{:index 0}", "looks like JSON", 0},
		{"words between", "{:index 0}\noops\n{:index 1}", "expected an op", 1},
		{"no end", "{:index 0}\n{:index 1 :value [1\n{:index 2}\n{:index 3}\n", "line 3, column 1 (byte 31): op that starts at byte 11 has no end, but here seems to be the next one", 1},
	}
	for _, tt := range tests {
		h, err := ReadAll(strings.NewReader(tt.text), EDN())
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || !strings.Contains(err.Error(), tt.want) || len(h.Ops) != tt.ops {
			t.Errorf("%s: %d ops, error %v; want %d, %s", tt.name, len(h.Ops), err, tt.ops, tt.want)
		}
		for size := 1; size < min(100, len(tt.text)); size += 1 + size/3 {
			if err := checkScan([]byte(tt.text), 2, size); err != nil {
				t.Errorf("%s in chunks of %d: %v", tt.name, size, err)
			}
		}
	}
}
