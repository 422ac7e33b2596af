package validator

import (
	"context"
	"encoding/json"
	"fmt"
)

const logsEvery = 3 // of the queries that find something, one in so many is answered falsely

// logBugs are about what eth_getLogs finds.
func logBugs() []Bug {
	often := fmt.Sprintf("one eth_getLogs in %d", logsEvery)
	return []Bug{
		{Name: "log-lost", Doc: often + " leaves its first log out", Targets: LastValidator,
			Workloads: []string{"log", "head"}, Checker: "logs-receipts",
			plant: queries(func(found []json.RawMessage) []json.RawMessage { return found[1:] })},
		{Name: "log-twice", Doc: often + " has its last log twice", Targets: LastValidator,
			Workloads: []string{"log", "head"}, Checker: "logs-receipts",
			plant: queries(func(found []json.RawMessage) []json.RawMessage { return append(found, found[len(found)-1]) })},
	}
}

func queries(lie func(found []json.RawMessage) []json.RawMessage) func(honest) rewriter {
	return func(honest) rewriter {
		turns := every{n: logsEvery}
		return answers{"eth_getLogs": func(_ context.Context, _ *call, honest json.RawMessage) any {
			var found []json.RawMessage
			if json.Unmarshal(honest, &found) != nil || len(found) == 0 || !turns.time() {
				return nil
			}
			return lie(found)
		}}
	}
}
