package nemesis

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// maxMetrics bounds what is read of one Prometheus endpoint.
const maxMetrics = 16 << 20

// scrape returns the values of every series with that name, whatever its labels,
// at a Prometheus endpoint. ctx bounds it.
func scrape(ctx context.Context, url, name string) ([]float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	// Text, whatever else the endpoint could offer.
	req.Header.Set("Accept", "text/plain;version=0.0.4")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("metrics %q: status %s", url, resp.Status)
	}
	return readSeries(io.LimitReader(resp.Body, maxMetrics), name)
}

// readSeries reads Prometheus' text format. Lines of other series are passed
// over, and so is what is no line of a series at all.
func readSeries(r io.Reader, name string) ([]float64, error) {
	var values []float64
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		rest, ok := strings.CutPrefix(strings.TrimSpace(lines.Text()), name)
		if !ok {
			continue
		}
		if strings.HasPrefix(rest, "{") {
			end := endOfLabels(rest)
			if end < 0 {
				continue
			}
			rest = rest[end:]
		} else if !strings.HasPrefix(rest, " ") && !strings.HasPrefix(rest, "\t") {
			continue // a longer name
		}
		fields := strings.Fields(rest) // the value, and maybe a timestamp
		if len(fields) == 0 {
			continue
		}
		if v, err := strconv.ParseFloat(fields[0], 64); err == nil {
			values = append(values, v)
		}
	}
	return values, lines.Err()
}

// endOfLabels is the place after the closing brace, which is no brace inside a
// quoted value; -1 where there is none.
func endOfLabels(text string) int {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case c == '}' && !quoted:
			return i + 1
		}
	}
	return -1
}
