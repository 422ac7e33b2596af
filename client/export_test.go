package client

// Sign is for tests that send bytes by hand.
func Sign(a *Account, f Fees, do Action) (Tx, error) { return a.sign(f, do) }
