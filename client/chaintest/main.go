package chaintest

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// Main runs the tests of a package that mostly wait, for blocks and for answers that
// do not come: as many at once as there are processors would leave those idle. It
// returns their exit status.
func Main(m *testing.M) int {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		n, _ := strconv.Atoi(f.DefValue)
		f.Value.Set(strconv.Itoa(3 * n))
	}
	return m.Run()
}

// Answer serves this result to every call of JSON-RPC, single or in a batch: a node
// that lies.
func Answer(result string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		type call struct {
			ID json.RawMessage `json:"id"`
		}
		var calls []call
		if json.Unmarshal(body, &calls) != nil {
			var one call
			json.Unmarshal(body, &one)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, one.ID, result)
			return
		}
		var parts []string
		for _, c := range calls {
			parts = append(parts, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, c.ID, result))
		}
		fmt.Fprintf(w, "[%s]", strings.Join(parts, ","))
	}
}
