package report

import (
	"encoding/json"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

type jsonJudgement struct {
	MessageType string                   `json:"message_type"`
	File        string                   `json:"file"`
	Valid       any                      `json:"valid"`
	Format      string                   `json:"format,omitempty"`
	Model       string                   `json:"model"`
	Because     string                   `json:"because,omitempty"`
	Reason      string                   `json:"reason"`
	Anomalies   map[string][]jsonAnomaly `json:"anomalies"`
	Checkers    map[string]jsonResult    `json:"checkers"`
	NotClaimed  []string                 `json:"not_claimed,omitempty"`
	Blind       []string                 `json:"not_seen,omitempty"`
	CutAt       *int64                   `json:"cut_at,omitempty"`
	Ops         int                      `json:"ops"`
	Seconds     float64                  `json:"seconds"`
}

type jsonAnomaly struct {
	Checker string        `json:"checker"`
	Message string        `json:"message"`
	Nodes   []string      `json:"nodes,omitempty"`
	Witness []jsonRef     `json:"witness"`
	Steps   []jsonStep    `json:"steps,omitempty"`
	Order   []jsonRef     `json:"order,omitempty"`
	State   string        `json:"state,omitempty"`
	Blocked []jsonBlocked `json:"blocked,omitempty"`
}

type jsonStep struct {
	From int    `json:"from"`
	To   int    `json:"to"`
	Rel  string `json:"rel"`
	Why  string `json:"why"`
}

type jsonBlocked struct {
	jsonRef
	Why string `json:"why"`
}

type jsonRef struct {
	Index int    `json:"index"`
	Op    string `json:"op"`
}

type jsonResult struct {
	Valid    any               `json:"valid"`
	Reason   string            `json:"reason,omitempty"`
	Facts    int               `json:"facts"`
	Warnings []string          `json:"warnings,omitempty"`
	Stats    map[string]string `json:"stats,omitempty"`
}

// JSON encodes j as one line: the object that jepgo check --json prints and
// results.json holds. Its shape only ever grows.
func (j *Judgement) JSON() []byte {
	out := jsonJudgement{
		MessageType: "check", File: j.File, Valid: jsonVerdict(j.Verdict), Format: j.Format, Model: j.Model, Because: j.Because, Reason: j.Reason(),
		Anomalies: map[string][]jsonAnomaly{}, Checkers: map[string]jsonResult{},
		NotClaimed: j.NotClaimed, Blind: j.Blind, Ops: j.Ops, Seconds: j.Elapsed.Seconds(),
	}
	if j.Cut != nil {
		out.CutAt = &j.Cut.Offset
	}
	for _, r := range j.Results {
		result := jsonResult{Valid: jsonVerdict(r.Verdict), Reason: r.Reason, Facts: r.Facts, Warnings: r.Warnings}
		for _, s := range r.Stats {
			if result.Stats == nil {
				result.Stats = map[string]string{}
			}
			result.Stats[s.Name] = s.Value
		}
		out.Checkers[r.Checker] = result
		for _, a := range r.Anomalies {
			anomaly := jsonAnomaly{Checker: r.Checker, Message: a.Message, Nodes: a.Nodes, Witness: []jsonRef{}, State: a.State}
			for _, s := range a.Steps {
				anomaly.Steps = append(anomaly.Steps, jsonStep(s))
			}
			for _, ref := range a.Order {
				anomaly.Order = append(anomaly.Order, jsonRef(ref))
			}
			for _, b := range a.Blocked {
				anomaly.Blocked = append(anomaly.Blocked, jsonBlocked{jsonRef(b.Ref), b.Why})
			}
			for _, ref := range a.Witness {
				anomaly.Witness = append(anomaly.Witness, jsonRef(ref))
			}
			out.Anomalies[a.Name] = append(out.Anomalies[a.Name], anomaly)
		}
	}
	line, err := json.Marshal(out)
	if err != nil {
		panic("a struct of strings and numbers always encodes: " + err.Error())
	}
	return append(line, '\n')
}

// ErrorJSON encodes, in the same shape, that a file could not be judged.
func ErrorJSON(file string, cause error) []byte {
	line, err := json.Marshal(map[string]any{
		"message_type": "check", "file": file, "valid": jsonVerdict(checker.Unknown), "error": cause.Error(),
	})
	if err != nil {
		panic("a map of strings always encodes: " + err.Error())
	}
	return append(line, '\n')
}

func jsonVerdict(v checker.Verdict) any {
	switch v {
	case checker.Valid:
		return true
	case checker.Invalid:
		return false
	}
	return "unknown"
}

// EDN encodes j as Jepsen's results.edn: a map of checkers, each with :valid?,
// and :valid? of the whole.
func (j *Judgement) EDN() []byte {
	kvs := []history.Value{history.Keyword("valid?"), ednVerdict(j.Verdict)}
	for _, r := range j.Results {
		kvs = append(kvs, history.Keyword(r.Checker), ednResult(r))
	}
	if len(j.NotClaimed) > 0 {
		kvs = append(kvs, history.Keyword("not-claimed"), texts(j.NotClaimed))
	}
	if len(j.Blind) > 0 {
		kvs = append(kvs, history.Keyword("not-seen"), texts(j.Blind))
	}
	return append(history.MapOf(kvs...).Append(nil), '\n')
}

func ednResult(r checker.Result) history.Value {
	kvs := []history.Value{
		history.Keyword("valid?"), ednVerdict(r.Verdict),
		history.Keyword("facts"), history.Int(int64(r.Facts)),
	}
	if r.Reason != "" {
		kvs = append(kvs, history.Keyword("reason"), history.Text(r.Reason))
	}
	if len(r.Anomalies) > 0 {
		var all []history.Value
		for _, a := range r.Anomalies {
			var witness []history.Value
			for _, ref := range a.Witness {
				witness = append(witness, history.Text(ref.Op))
			}
			all = append(all, history.MapOf(
				history.Keyword("type"), history.Keyword(a.Name),
				history.Keyword("message"), history.Text(a.Message),
				history.Keyword("nodes"), texts(a.Nodes),
				history.Keyword("witness"), history.Vec(witness...)))
		}
		kvs = append(kvs, history.Keyword("anomalies"), history.Vec(all...))
	}
	if len(r.Warnings) > 0 {
		kvs = append(kvs, history.Keyword("warnings"), texts(r.Warnings))
	}
	if len(r.Stats) > 0 {
		var stats []history.Value
		for _, s := range r.Stats {
			stats = append(stats, history.Text(s.Name), history.Text(s.Value))
		}
		kvs = append(kvs, history.Keyword("stats"), history.MapOf(stats...))
	}
	return history.MapOf(kvs...)
}

func texts(ss []string) history.Value {
	vs := make([]history.Value, len(ss))
	for i, s := range ss {
		vs[i] = history.Text(s)
	}
	return history.Vec(vs...)
}

func ednVerdict(v checker.Verdict) history.Value {
	switch v {
	case checker.Valid:
		return history.Flag(true)
	case checker.Invalid:
		return history.Flag(false)
	}
	return history.Keyword("unknown")
}
