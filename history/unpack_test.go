package history

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

func zipped(t *testing.T, text []byte) []byte {
	t.Helper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

func zstandard(t *testing.T, text []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll(text, nil)
}

// A compressed history reads as its text does, in one stream or several behind
// each other; of one that is cut, what came before the cut is kept.
func TestPacked(t *testing.T) {
	text := registers(4000)
	half := len(text) / 2
	want, err := readSerial(text)
	if err != nil {
		t.Fatal(err)
	}
	skippable := append([]byte{0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0}, "abc"...)
	for name, packed := range map[string][]byte{
		"gzip":             zipped(t, text),
		"gzip twice":       append(zipped(t, text[:half]), zipped(t, text[half:])...),
		"zstd":             zstandard(t, text),
		"zstd twice":       append(zstandard(t, text[:half]), zstandard(t, text[half:])...),
		"zstd, skip first": append(skippable, zstandard(t, text)...),
	} {
		h, err := ReadAll(bytes.NewReader(packed), EDN())
		if err != nil || h.Cut != nil || len(h.Ops) != len(want.Ops) {
			t.Errorf("%s: %d ops, cut %v, error %v; want %d ops", name, len(h.Ops), h.Cut, err, len(want.Ops))
		}
		if err := checkScan(packed, 2, 50_000); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for at := 1; at < len(packed); at += len(packed)/9 + 1 {
			cut := packed[:at]
			h, err := ReadAll(bytes.NewReader(cut), EDN())
			switch {
			case strings.HasPrefix(name, "zstd, ") && at < len(skippable), at < 4:
				continue // no more than a part of the magic number, or an empty history
			case err != nil && strings.HasPrefix(name, "gzip") && at < 10 && strings.Contains(err.Error(), "gzip header is cut off"):
				continue
			case err != nil || h.Cut == nil || len(h.Ops) >= len(want.Ops):
				t.Errorf("%s, first %d bytes of %d: %d ops, cut %v, error %v", name, at, len(packed), len(h.Ops), h.Cut, err)
				continue
			}
			if len(h.Ops) > 0 && !sameOps(&h.Ops[len(h.Ops)-1], &want.Ops[len(h.Ops)-1]) {
				t.Errorf("%s, first %d bytes: op %d is %s", name, at, len(h.Ops)-1, &h.Ops[len(h.Ops)-1])
			}
			if err := checkScan(cut, 2, 50_000); err != nil {
				t.Errorf("%s, first %d bytes: %v", name, at, err)
			}
		}
	}
}

// What is damaged, or wants too much memory, is an error and not a cut.
func TestPackedDamaged(t *testing.T) {
	text := registers(4000)
	for name, packed := range map[string][]byte{"gzip": zipped(t, text), "zstd": zstandard(t, text)} {
		damaged := bytes.Clone(packed)
		for i := len(damaged) / 2; i < len(damaged)/2+40; i++ {
			damaged[i] ^= 0x55
		}
		h, err := ReadAll(bytes.NewReader(damaged), EDN())
		if err == nil {
			t.Errorf("%s: %d ops, cut %v, no error", name, len(h.Ops), h.Cut)
		}
		if err := checkScan(damaged, 2, 50_000); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A frame whose window is 2 GiB, followed by nothing.
	_, err := ReadAll(bytes.NewReader([]byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 21 << 3, 0x01, 0x00, 0x00}), EDN())
	if err == nil || !strings.Contains(fmt.Sprint(err), "window size") {
		t.Errorf("window of 2 GiB: error %v", err)
	}
}
