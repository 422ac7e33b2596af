package nemesis

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jepgo/jepgo/usage"
)

// param is one thing that may follow a fault's name in --nemesis, after a colon:
// kill:one, delay:200ms:n2. Parts come in any order; each is taken by the first
// param that takes it.
type param struct {
	doc   string   // for help and errors: "a delay such as 200ms"
	names []string // the words that it takes, for errors
	// take returns whether the part is meant for this param, and what is wrong
	// with it if so.
	take func(part string) (mine bool, err error)
}

// parseSpec reads what follows a fault's name; "" leaves every default.
func parseSpec(spec string, params ...param) error {
	if spec == "" {
		return nil
	}
	taken := make([]string, len(params))
	for part := range strings.SplitSeq(spec, ":") {
		at := -1
		for i, p := range params {
			mine, err := p.take(part)
			if err != nil {
				return err
			}
			if mine {
				at = i
				break
			}
		}
		switch {
		case at < 0:
			meant := usage.Meant(part, words(params))
			wrong := "unknown"
			if meant == "" {
				wrong = unknownPart(part)
			}
			return fmt.Errorf("%q: %s; %sexpected %s%s", part, wrong, meant, docs(params), meantLength(part))
		case taken[at] != "":
			return fmt.Errorf("%q after %q: both are %s, expected one", part, taken[at], params[at].doc)
		}
		taken[at] = part
	}
	return nil
}

func words(params []param) (ws []string) {
	for _, p := range params {
		ws = append(ws, p.names...)
	}
	return ws
}

// unknownPart says what is wrong with a part that nothing takes.
func unknownPart(part string) string {
	if _, err := strconv.ParseFloat(part, 64); err == nil {
		return "a number without a unit"
	}
	if number := strings.TrimRight(part, "nuµmsh"); number != part {
		_, bad := time.ParseDuration(part)
		if _, err := strconv.ParseFloat(number, 64); err == nil && bad != nil {
			return "more than 292 years, or an unknown unit"
		}
	}
	return "unknown"
}

// meantLength is for who wrote a length where options are.
func meantLength(part string) string {
	if _, err := time.ParseDuration(part); err != nil || part == "0" {
		return ""
	}
	return "; how long a fault stays is after a +, as in kill+10s"
}

func docs(params []param) string {
	ds := make([]string, len(params))
	for i, p := range params {
		ds[i] = p.doc
	}
	return strings.Join(ds, ", or ")
}

// specs lists the docs of params, for Entry.Specs.
func specs(params ...param) []string {
	ds := make([]string, len(params))
	for i, p := range params {
		ds[i] = p.doc
	}
	return ds
}

// oneOf takes one of several names.
func oneOf(at *string, names ...string) param {
	return param{
		doc: "one of " + list(names), names: names,
		take: func(part string) (bool, error) {
			for _, n := range names {
				if part == n {
					*at = part
					return true, nil
				}
			}
			return false, nil
		},
	}
}

// duration takes a Go duration between two bounds, both allowed.
func duration(at *time.Duration, doc string, least, most time.Duration) param {
	return param{
		doc: doc,
		take: func(part string) (bool, error) {
			d, err := time.ParseDuration(part)
			if err != nil {
				return false, nil
			}
			if d < least || d > most {
				return true, fmt.Errorf("%q: expected %s, from %v to %v", part, doc, least, most)
			}
			*at = d
			return true, nil
		},
	}
}

// percent takes a share as 20% and stores it as 0.2.
func percent(at *float64, doc string) param {
	return param{
		doc: doc,
		take: func(part string) (bool, error) {
			text, ok := strings.CutSuffix(part, "%")
			if !ok {
				return false, nil
			}
			f, err := strconv.ParseFloat(text, 64)
			if err != nil || !(f > 0 && f <= 100) {
				return true, fmt.Errorf("%q: expected %s, above 0%% and up to 100%%", part, doc)
			}
			*at = f / 100
			return true, nil
		},
	}
}

// sizeUnits are the units of bytes, the largest first.
var sizeUnits = [...]struct {
	suffix string
	bytes  int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

// size takes a number of bytes as 64MiB.
func size(at *int64, doc string, least int64) param {
	return param{
		doc: doc,
		take: func(part string) (bool, error) {
			for _, u := range sizeUnits {
				text, ok := strings.CutSuffix(part, u.suffix)
				if !ok {
					continue
				}
				n, err := strconv.ParseInt(text, 10, 64)
				if err != nil {
					return false, nil
				}
				if n > (1<<62)/u.bytes || n*u.bytes < least {
					return true, fmt.Errorf("%q: expected %s, at least %d bytes", part, doc, least)
				}
				*at = n * u.bytes
				return true, nil
			}
			return false, nil
		},
	}
}

// suffix renders a part of a fault's name, "" when it was not asked for.
func suffix(text string) string {
	if text == "" {
		return ""
	}
	return ":" + text
}
