package doctor

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/session"
)

// lowSpace is when the doctor worries.
const lowSpace = 256 << 20

// syncTime writes a small file in dir, syncs it, and says how long that took.
func syncTime(dir string, now func() time.Time) (time.Duration, error) {
	f, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return 0, err
	}
	start := now()
	_, err = f.WriteString("fsync works\n")
	if err == nil {
		err = f.Sync()
	}
	took := now().Sub(start)
	return took, errors.Join(err, f.Close(), os.Remove(f.Name()))
}

// writable tells why nothing can be made in a folder.
func writable(dir string) error {
	made, err := os.MkdirTemp(dir, ".doctor-*")
	if err == nil {
		return os.Remove(made)
	}
	if path, ok := errors.AsType[*os.PathError](err); ok {
		err = path.Err // the folder's name is said
	}
	return err
}

// storeFailed is the finding about a store that does not open. One that only lies where
// nothing can be written is not read-only itself.
func storeFailed(ref stores.Ref, err error) Check {
	out := failed("store", err)
	if !errors.Is(err, session.ErrReadOnly) || !ref.IsLocal() {
		return out
	}
	if why := writable(ref.Folder()); why != nil {
		out.Detail = fmt.Sprintf("%s cannot be written, and the store lies there: %v", ref.Folder(), why)
	}
	return out
}

func spaceCheck(dir string) Check {
	free, ok := freeSpace(dir)
	switch {
	case !ok:
		return Check{"space", "ok", "how much is free cannot be told here", ""}
	case free < lowSpace:
		return Check{"space", "warn", fmt.Sprintf("%s free on the disk of %s", term.Size(free), dir), "make room, or choose another disk: --store"}
	}
	return Check{"space", "ok", term.Size(free) + " free", ""}
}
