package checker

import "testing"

// No histories of Kafka tests could be had: these are made by hand, after what
// Jepsen's workload describes.
func TestKafka(t *testing.T) {
	kafka := func() Stream { return Kafka(KafkaOptions{}) }
	drainless := func() Stream { return Kafka(KafkaOptions{AllowUnseen: true}) }
	sends := `
		9 invoke send [[:send :x :a] [:send :x :b] [:send :x :c] [:send :x :d]]
		9 ok send [[:send :x [0 :a]] [:send :x [1 :b]] [:send :x [3 :c]] [:send :x [4 :d]]]
		8 invoke poll [[:poll]]
		8 ok poll [[:poll {:x [[0 :a] [1 :b] [3 :c] [4 :d]]}]]`
	hold(t, []fixture{
		{"all in order", kafka, sends + `
			1 invoke txn [[:poll] [:send :y 1]]
			1 ok txn [[:poll {:x [[0 :a] [1 :b]]}] [:send :y [0 1]]]
			1 invoke poll [[:poll] [:poll]]
			1 ok poll [[:poll {:x [[3 :c]], :y [[0 1]]}] [:poll {:x [[4 :d]], :y []}]]`, Valid, "", "5 messages sent, 9 times polled", nil},
		{"two messages at one offset", kafka, `
			1 invoke send [[:send 11 641]]
			1 ok send [[:send 11 [537 641]]]
			2 invoke send [[:send 11 645]]
			2 ok send [[:send 11 [537 645]]]
			1 ok poll [[:poll {11 [[537 641]]}]]
			2 ok poll [[:poll {11 [[537 645]]}]]`, Invalid, "inconsistent-offsets", "Offset 537 of key 11 holds 641 according to op 1, and 645 according to op 3", nil},
		{"a send in doubt says nothing of its offset", kafka, `
			1 invoke send [[:send :x 1] [:send :y 1]]
			1 info send [[:send :x [0 1]] [:send :y 1]]
			2 invoke send [[:send :x 2]]
			2 ok send [[:send :x [0 2]]]
			3 ok poll [[:poll {:x [[0 2]]}]]`, Valid, "", "", nil},
		{"unless a poll shows that it happened", kafka, `
			1 invoke send [[:send :x 1] [:send :y 1]]
			1 info send [[:send :x [0 1]] [:send :y 1]]
			2 invoke send [[:send :x 2]]
			2 ok send [[:send :x [0 2]]]
			3 ok poll [[:poll {:x [[0 2]]}]]
			3 ok poll [[:poll {:y [[5 1]]}]]`, Invalid, "inconsistent-offsets lost-write", "", nil},
		{"one message at two offsets", kafka, `
			1 invoke send [[:send :x :a]]
			1 ok send [[:send :x [1 :a]]]
			2 invoke send [[:send :x :b]]
			2 info send [[:send :x :b]]
			3 ok poll [[:poll {:x [[2 :b] [3 :a]]}]]`, Invalid, "duplicate", "Message :a of key :x is at several offsets, such as 1 (op 1) and 3 (op 4)", nil},
		{"a failed poll shows it, too, a failed send does not", kafka, `
			1 invoke send [[:send :x 0]]
			1 ok send [[:send :x [1 0]]]
			1 invoke send [[:send :x 1]]
			1 fail send [[:send :x [2 1]]]
			2 invoke poll [[:poll]]
			2 fail poll [[:poll {:x [[11 0] [12 1]]}]]
			2 ok poll [[:poll {:x [[11 0]]}]]`, Invalid, "duplicate", "", nil},
		{"lost", kafka, `
			0 invoke send [[:send :x :a]]
			0 ok send [[:send :x [0 :a]]]
			1 invoke send [[:send :x :c]]
			1 info send [[:send :x :c]]
			2 invoke poll [[:poll]]
			2 ok poll [[:poll {:x [[2 :c]]}]]`, Invalid, "lost-write", "Message :a of key :x was sent (op 1) to offset 0 and never polled, though op 5 polled :c at offset 2", nil},
		{"lost by a transaction in doubt that happened", kafka, `
			0 invoke send [[:send :x :a] [:send :y :b]]
			0 info send [[:send :x :a] [:send :y [0 :b]]]
			1 invoke send [[:send :y :c]]
			2 ok poll [[:poll {:x [[0 :a]]}]]
			3 ok poll [[:poll {:y [[1 :c]]}]]`, Invalid, "lost-write", "", nil},
		{"not known to be sent", kafka, `
			0 invoke send [[:send :x :a] [:send :y :b]]
			0 info send [[:send :x :a] [:send :y [0 :b]]]
			1 invoke send [[:send :y :c]]
			3 ok poll [[:poll {:y [[1 :c]]}]]`, Valid, "", "", nil},
		{"unseen", kafka, `
			0 invoke send [[:send :x :a]]
			0 ok send [[:send :x [0 :a]]]`, Invalid, "unseen", "nobody polled it", nil},
		{"unseen where nobody drains", drainless, `
			0 invoke send [[:send :x :a]]
			0 ok send [[:send :x [0 :a]]]`, Valid, "", "", map[string]string{"unseen": "1"}},
		{"aborted read", kafka, `
			0 invoke send [[:send :x 2]]
			0 fail send [[:send :x 2]]
			1 ok poll [[:poll {:x [[0 2]]}]]`, Invalid, "G1a", "its send (op 1) failed", nil},
		{"read of what is not committed", kafka, `
			0 invoke txn [[:send :x 2] [:poll]]
			0 ok txn [[:send :x [0 2]] [:poll {:x [[0 2]]}]]`, Invalid, "precommitted-read", "Op 1 polls message 2 of key :x", nil},
		{"from nowhere", kafka, `1 ok poll [[:poll {:x [[0 2]]}]]`, Invalid, "unexpected", "nobody sent it", nil},
		{"a poll that skips", kafka, sends + `
			1 ok poll [[:poll {:x [[0 :a]]}]]
			1 ok poll [[:poll {:x [[3 :c]]}]]`, Invalid, "poll-skip", "Op 5, after op 4, polled :a of key :x at offset 0, then :c at offset 3, and passed over 1 message, such as :b at offset 1", nil},
		{"a poll that goes back", kafka, sends + `
			1 ok poll [[:poll {:x [[0 :a] [1 :b]]}]]
			1 ok poll [[:poll {:x [[1 :b] [3 :c]]}]]`, Invalid, "nonmonotonic-poll", "", nil},
		{"polls that failed are polled again", kafka, sends + `
			1 ok txn [[:poll {:x [[0 :a]]}]]
			1 fail txn [[:poll {:x [[1 :b] [3 :c]]}]]
			1 info txn [[:poll {:x [[1 :b] [3 :c]]}]]
			1 ok txn [[:poll {:x [[1 :b] [3 :c]]}]]`, Valid, "", "", nil},
		{"a failed poll may not skip", kafka, sends + `
			1 ok txn [[:poll {:x [[0 :a]]}]]
			1 fail txn [[:poll {:x [[3 :c]]}]]`, Invalid, "poll-skip", "", nil},
		{"assigned anew", kafka, sends + `
			1 ok poll [[:poll {:x [[0 :a]]}]]
			1 ok assign [:y]
			1 ok assign [:x :y]
			1 ok poll [[:poll {:x [[4 :d]]}]]`, Valid, "", "", nil},
		{"still assigned", kafka, sends + `
			1 ok poll [[:poll {:x [[0 :a]]}]]
			1 fail assign [:y]
			1 ok assign [:x :y]
			1 ok poll [[:poll {:x [[4 :d]]}]]`, Invalid, "poll-skip", "2 messages", nil},
		{"subscribers are rebalanced", kafka, sends + `
			1 ok subscribe [:x]
			1 ok poll [[:poll {:x [[0 :a]]}]]
			1 ok poll [[:poll {:x [[4 :d]]}]]`, Valid, "", "poll-skip: 1, which are allowed here", nil},
		{"a skip within one operation", kafka, sends + `
			1 ok poll [[:poll {:x [[0 :a] [3 :c]]}]]
			2 ok poll [[:poll {:x [[0 :a]]}] [:poll {:x [[3 :c]]}]]`, Invalid, "int-poll-skip", "Op 4 polled :a of key :x at offset 0, then :c at offset 3", map[string]string{"int-poll-skip": "2"}},
		{"a rebalance excuses it", kafka, sends + `
			1 ok poll [[:poll {:x [[0 :a] [3 :c]]}]] | :rebalance-log [{:keys [:x]}]`, Valid, "", "", nil},
		{"a rebalance of another key does not", kafka, sends + `
			1 ok poll [[:poll {:x [[0 :a] [3 :c] [1 :b]]}]] | :rebalance-log [{:keys [:y]}]`, Invalid, "int-nonmonotonic-poll int-poll-skip", "", nil},
		{"back within one operation", kafka, sends + `
			1 ok poll [[:poll {:x [[1 :b] [3 :c]]}] [:poll {:x [[3 :c]]}]]`, Invalid, "int-nonmonotonic-poll", "", nil},
		{"sends of a process in the opposite order", kafka, `
			0 invoke send [[:send :x :c]]
			0 ok send [[:send :x [3 :c]]]
			0 invoke send [[:send :x :a]]
			0 ok send [[:send :x [1 :a]]]
			1 ok poll [[:poll {:x [[1 :a] [3 :c]]}]]`, Invalid, "nonmonotonic-send", "Op 3, after op 1, sent :c of key :x at offset 3, then :a at offset 1", nil},
		{"sends of an operation in the opposite order, as a poll shows", kafka, `
			0 invoke send [[:send :y :d] [:send :y :b]]
			0 info send [[:send :y :d] [:send :y :b]]
			1 ok poll [[:poll {:y [[2 :b] [4 :d]]}]]`, Invalid, "int-nonmonotonic-send", "", nil},
		{"sends with others between are normal", kafka, `
			0 invoke send [[:send :x :a] [:send :x :c]]
			0 ok send [[:send :x [1 :a]] [:send :x :c]]
			1 invoke send [[:send :x :b]]
			1 info send [[:send :x :b]]
			2 ok poll [[:poll {:x [[1 :a] [2 :b] [3 :c]]}]]`, Valid, "", "int-send-skip: 1", nil},
		{"one message sent twice", kafka, `
			0 invoke send [[:send :x :a]]
			0 ok send [[:send :x [1 :a]]]
			0 invoke send [[:send :x :a]]
			0 ok send [[:send :x [2 :a]]]
			2 ok poll [[:poll {:x [[1 :a] [2 :a]]}]]`, Unknown, "", "1 message sent more than once", nil},
		{"odd shapes", kafka, `
			0 ok send [[:send] [:send :x] [] 5 [:poll 3] [:poll {:x 5}] [:poll {:x [5 [1]]}] [:send :x [[] 1]]]
			0 ok txn 7
			1 ok assign nil
			1 ok poll [[:poll {:x [[0 1]]}]]`, Unknown, "", "7 parts of operations cannot be read, such as in op 0", nil},
		{"nothing", kafka, `0 invoke poll [[:poll]]`, Unknown, "", "", nil},
	})
}
