package validator

import (
	"context"
	"fmt"
)

func (cfg Config) buggy() bool { return false }
func findBug(string) (int, error) { return 0, fmt.Errorf("x") }
func serveBug(context.Context, Config, *execution) error { return nil }
