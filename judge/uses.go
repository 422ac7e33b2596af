package judge

import "strings"

// uses says which options a model looks at.
type uses uint16

const (
	usesConsistency  uses = 1 << iota // Consistency
	usesAnomalies                     // Anomalies
	usesVersions                      // Sequential, LinearizableKeys, WritesFollow, VersionOrder
	usesInitial                       // Initial
	usesNil                           // Nil
	usesKeys                          // Keyed
	usesGroupSize                     // GroupSize
	usesQueue                         // Queue
	usesNegative                      // Negative
	usesLinearizable                  // LinearizableSet
)

// useless returns an error when the caller gave options that the model does not
// look at: whoever asks for snapshot isolation of a bank must not be told valid.
func (o *Options) useless(m model) error {
	var flags []string
	add := func(given bool, use uses, flag string) {
		if given && m.uses&use == 0 {
			flags = append(flags, flag)
		}
	}
	add(len(o.Consistency) > 0, usesConsistency, "--consistency-model")
	add(len(o.Anomalies) > 0, usesAnomalies, "--anomalies")
	add(o.Sequential, usesVersions, "--sequential-keys")
	add(o.LinearizableKeys, usesVersions, "--linearizable-keys")
	add(o.WritesFollow, usesVersions, "--wfr-keys")
	add(o.VersionOrder != "", usesVersions, "--version-order")
	add(o.Initial != "", usesInitial, "--initial")
	add(o.Nil != "" && !o.nilOfFormat, usesNil, "--nil")
	add(o.Keyed && !o.keyedByFormat, usesKeys, "--independent")
	add(o.GroupSize != 0, usesGroupSize, "--group-size")
	add(o.Queue != "", usesQueue, "--queue-model")
	add(o.Negative, usesNegative, "--negative-balances")
	add(o.LinearizableSet, usesLinearizable, "--linearizable")
	if len(flags) == 0 {
		return nil
	}
	return vague("model %s does not look at %s: leave it out, or name another --model", m.name, strings.Join(flags, ", "))
}
