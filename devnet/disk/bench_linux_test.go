package disk

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble"
)

// BenchmarkPebble is a database on a disk without a fault and in a plain
// directory of the same file system: batches of 2 KB that are each made durable,
// and a bulk load that is not.
func BenchmarkPebble(b *testing.B) {
	for _, where := range []string{"plain", "disk"} {
		for _, load := range []struct {
			name string
			opts *pebble.WriteOptions
			size int
		}{{"sync", pebble.Sync, 2000}, {"bulk", pebble.NoSync, 200}} {
			b.Run(fmt.Sprintf("%s/%s", load.name, where), func(b *testing.B) {
				dir := b.TempDir()
				if where == "disk" {
					dir = newDisk(b, Options{}).Dir()
				}
				db, err := pebble.Open(filepath.Join(dir, "db"), &pebble.Options{Logger: quiet{}})
				if err != nil {
					b.Fatal(err)
				}
				value := make([]byte, load.size)
				for i := range value {
					value[i] = byte(i * 7)
				}
				b.SetBytes(int64(load.size))
				for n := uint64(0); b.Loop(); n++ {
					if err := db.Set(key(n), value, load.opts); err != nil {
						b.Fatal(err)
					}
				}
				if err := db.Close(); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}

// BenchmarkRead reads a file of 4 MiB that the page cache does not hold, as after
// an open.
func BenchmarkRead(b *testing.B) {
	for _, where := range []string{"plain", "disk"} {
		b.Run(where, func(b *testing.B) {
			dir := b.TempDir()
			if where == "disk" {
				dir = newDisk(b, Options{}).Dir()
			}
			path := filepath.Join(dir, "f")
			if err := os.WriteFile(path, make([]byte, 4<<20), 0o644); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(4 << 20)
			for b.Loop() {
				if _, err := os.ReadFile(path); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
