package emulator

// draws are the random numbers of one frame. Each is a function of the frame's
// key and its own place, so that asking for one more fault does not change what
// the others draw.
type draws uint64

// The places.
const (
	drawLoss = iota
	drawBurst
	drawDuplicate
	drawCorrupt
	drawVisible
	drawReorder
	drawJitter
	drawReset
	drawBit
)

// step is the increment of SplitMix64: Steele, Lea, Flood, "Fast splittable
// pseudorandom number generators", 2014. mix is its output function.
const step = 0x9e3779b97f4a7c15

func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// bits returns 64 random bits. The key is mixed before the place is added: keys
// of consecutive frames differ by a step as well.
func (d draws) bits(place int) uint64 {
	return mix(mix(uint64(d)) + uint64(place+1)*step)
}

// share returns a number in [0, 1).
func (d draws) share(place int) float64 { return float64(d.bits(place)>>11) / (1 << 53) }
