package workloads

import (
	"os"
	"testing"

	"github.com/jepgo/jepgo/client/chaintest"
)

func TestMain(m *testing.M) { os.Exit(chaintest.Main(m)) }
