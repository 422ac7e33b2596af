// Package userns runs this program again as the root of a user namespace of its
// own, with a mount namespace: there a user without privileges may make network
// namespaces and mount FUSE, as far as the devices for that are open to this user.
//
// Guarantees: the program there has the same arguments, directory and streams. It
// gets the signals of the process that started it, whose exit status becomes its
// own, and with whose end it is killed, however that comes. What it writes belongs
// to the user who started it. What it mounts only its descendants see, and is gone
// with the last of them.
//
// Bounds: Linux. User 0 there is no more on the host than the user who started it:
// control groups, priorities and other users' processes are as out of reach as
// ever. Processes keep their pids, so that others of the same user can end them.
package userns

import (
	"os"
	"strconv"
)

// mark is in the environment of what Command starts: the pid of who started it.
const mark = "JEPGO_USER_NAMESPACE"

// Inside reports whether this process is one that Run started.
func Inside() bool { return os.Getenv(mark) == strconv.Itoa(os.Getppid()) }
