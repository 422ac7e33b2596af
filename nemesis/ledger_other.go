//go:build !linux

package nemesis

import (
	"errors"
	"os"
)

func lock(*os.File) error {
	return errors.New("the fault ledger needs Linux: processes have no identity beyond their pid here")
}

func bootID() string { return "" }
