package chain

// list is a slice that grows in pieces: what it has stays where it is. Growing a
// long slice copies it again and again into memory that was never touched, and the
// first touch costs more than what a checker does with an op. The zero value is
// empty.
type list[T any] struct {
	pieces [][]T
	n      int
}

const pieceBits = 12

// push appends, O(1).
func (l *list[T]) push(v T) {
	p := l.n >> pieceBits
	if p == len(l.pieces) {
		var piece []T
		if p > 0 {
			piece = make([]T, 0, 1<<pieceBits)
		}
		l.pieces = append(l.pieces, piece)
	}
	l.pieces[p] = append(l.pieces[p], v)
	l.n++
}

// at is the element at i, until the next push.
func (l *list[T]) at(i int) *T { return &l.pieces[i>>pieceBits][i&(1<<pieceBits-1)] }

// cut takes the last elements off, so that n are left.
func (l *list[T]) cut(n int) {
	l.n = n
	p := n >> pieceBits
	if p < len(l.pieces) {
		l.pieces[p] = l.pieces[p][:n&(1<<pieceBits-1)]
		for i := p + 1; i < len(l.pieces); i++ {
			l.pieces[i] = l.pieces[i][:0]
		}
	}
}

// byID is a number for each id, 0 where none was set.
type byID []int32

func (b byID) get(i id) int32 {
	if i < 0 || int(i) >= len(b) {
		return 0
	}
	return b[i]
}

func (b *byID) set(i id, v int32) {
	if n := int(i) + 1; n > len(*b) {
		*b = append(*b, make([]int32, n-len(*b)+len(*b)/4)...)
	}
	(*b)[i] = v
}
