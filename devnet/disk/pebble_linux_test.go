package disk

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble"
)

// quiet is a log that Pebble writes nothing to, not even what is fatal: the
// process ends then, and the test sees it.
type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatalf(f string, args ...any) {
	fmt.Printf("fatal: "+f+"\n", args...)
	os.Exit(1)
}

func openPebble(dir string) (*pebble.DB, error) {
	return pebble.Open(dir, &pebble.Options{Logger: quiet{}, MemTableSize: 1 << 20})
}

// pebbleMain writes batches of 20 keys for ever, and tells each tenth that has
// returned; it goes on where the database ends.
func pebbleMain(arg string) {
	dir, sync, _ := strings.Cut(arg, " ")
	db, err := openPebble(dir)
	must(err)
	opts := pebble.NoSync
	if sync == "sync" {
		opts = pebble.Sync
	}
	next, err := check(db)
	must(err)
	for n := next; ; n++ {
		b := db.NewBatch()
		for k := range perBatch {
			must(b.Set(key(n*perBatch+k), make([]byte, 100), nil))
		}
		must(b.Commit(opts))
		fmt.Println(n)
	}
}

const perBatch = uint64(20)

func key(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// check returns how many batches there are, all whole and in a row.
func check(db *pebble.DB) (uint64, error) {
	it, err := db.NewIter(nil)
	if err != nil {
		return 0, err
	}
	defer it.Close()
	n := uint64(0)
	for it.First(); it.Valid(); it.Next() {
		if got := binary.BigEndian.Uint64(it.Key()); got != n {
			return 0, fmt.Errorf("key %d after %d: a hole", got, n)
		}
		n++
	}
	if n%perBatch != 0 {
		return 0, fmt.Errorf("%d keys: a batch is there in part", n)
	}
	return n / perBatch, it.Error()
}

// TestPebble kills a real database under load and takes the power away. With
// sync every batch that was acknowledged is there; without, the last ones are
// gone; there is never a hole or half a batch.
func TestPebble(t *testing.T) {
	for _, sync := range []string{"sync", "nosync"} {
		for _, torn := range []float64{0, 0.5} {
			t.Run(fmt.Sprintf("%s torn %v", sync, torn), func(t *testing.T) {
				d := newDisk(t, Options{Seed: 17})
				dir := filepath.Join(d.Dir(), "db")
				cmd, out := process(t, "pebble "+dir+" "+sync)
				acked := uint64(0)
				lines := bufio.NewScanner(out)
				// Without sync some of it must be on the disk, but not durable.
				for (acked < 300 || sync == "nosync" && d.Dirty() < 64<<10) && lines.Scan() {
					n, err := strconv.ParseUint(lines.Text(), 10, 64)
					if err != nil {
						t.Fatal(lines.Text())
					}
					acked = n + 1
				}
				kill(t, cmd)
				for lines.Scan() {
					if n, err := strconv.ParseUint(lines.Text(), 10, 64); err == nil {
						acked = n + 1
					}
				}
				if acked < 300 {
					t.Fatal("the database ended")
				}
				lost, err := d.Crash(torn)
				if err != nil {
					t.Fatal(err)
				}
				if err := d.Remount(); err != nil {
					t.Fatal(err)
				}
				db, err := openPebble(dir)
				if err != nil {
					t.Fatal(err)
				}
				defer db.Close()
				have, err := check(db)
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("acknowledged %d batches, %d are there; lost %+v", acked, have, lost)
				switch {
				case sync == "sync" && have < acked:
					t.Errorf("acknowledged %d batches, only %d are there", acked, have)
				case sync == "nosync" && (have >= acked || lost.Bytes == 0):
					t.Errorf("acknowledged %d batches without sync, and %d are there", acked, have)
				}
			})
		}
	}
}

// TestPebbleFaults holds that the database sees a fault of the disk: it ends, or
// refuses to open.
func TestPebbleFaults(t *testing.T) {
	for name, f := range map[string]Fault{"fsync": {Fsync: 1}, "write": {Write: 1}, "full": {Full: true}, "log": {Write: 1, Path: "*.log"}} {
		t.Run(name, func(t *testing.T) {
			d := newDisk(t, Options{})
			cmd, out := process(t, "pebble "+filepath.Join(d.Dir(), "db")+" sync")
			lines := bufio.NewScanner(out)
			for lines.Scan() && lines.Text() != "20" {
			}
			if err := d.Set(f); err != nil {
				t.Fatal(err)
			}
			rest := new(strings.Builder)
			for lines.Scan() {
				rest.WriteString(lines.Text() + "\n")
			}
			cmd.Wait()
			if !strings.Contains(rest.String(), "fatal: ") && !strings.Contains(rest.String(), "error: ") {
				t.Errorf("the database did not see it: %s", rest)
			}
		})
	}
	t.Run("flip", func(t *testing.T) {
		d := newDisk(t, Options{})
		dir := filepath.Join(d.Dir(), "db")
		cmd, out := process(t, "pebble "+dir+" sync")
		lines := bufio.NewScanner(out)
		for lines.Scan() && lines.Text() != "200" {
		}
		go io.Copy(io.Discard, out)
		kill(t, cmd)
		if err := d.Set(Fault{Flip: 1}); err != nil {
			t.Fatal(err)
		}
		db, err := openPebble(dir)
		if err == nil {
			if _, err = check(db); err == nil {
				t.Error("the database read a disk that flips bits and saw nothing")
			}
			db.Close()
		}
		t.Logf("it says: %v", err)
	})
}
