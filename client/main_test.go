package client_test

import (
	"flag"
	"os"
	"strconv"
	"testing"
)

func TestMain(m *testing.M) {
	flag.Parse()
	// Tests mostly wait, for blocks and for answers that do not come: as many at
	// once as there are processors would leave those idle.
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		n, _ := strconv.Atoi(f.DefValue)
		f.Value.Set(strconv.Itoa(3 * n))
	}
	os.Exit(m.Run())
}
