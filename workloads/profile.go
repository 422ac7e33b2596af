package workloads

// Profile is what kind of network this is, and so which claims are fair.
type Profile struct {
	Name string
	// FinalTag is the block tag whose answers are final: latest on a chain with
	// instant finality, finalized where the head may reorganise, "" for none.
	FinalTag string
}
