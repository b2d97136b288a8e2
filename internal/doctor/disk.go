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

// lowSpace is the free space below which the doctor warns.
const lowSpace = 256 << 20

// syncTime writes a small file in dir, syncs it, and returns how long this took.
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

// checkWritable returns the reason why a file cannot be created in a folder, or nil.
func checkWritable(dir string) error {
	made, err := os.MkdirTemp(dir, ".doctor-*")
	if err == nil {
		return os.Remove(made)
	}
	if path, ok := errors.AsType[*os.PathError](err); ok {
		err = path.Err // the message already contains the name of the folder
	}
	return err
}

// storeFailure returns the check of a store that cannot be opened. If the folder of the store is not
// writable, the check says so and does not call the store read-only.
func storeFailure(ref stores.Ref, err error) Check {
	out := failed("store", err)
	if !errors.Is(err, session.ErrReadOnly) || !ref.IsLocal() {
		return out
	}
	if why := checkWritable(ref.Folder()); why != nil {
		out.Detail = fmt.Sprintf("the store's folder %s is not writable: %v", ref.Folder(), why)
	}
	return out
}

func spaceCheck(dir string) Check {
	free, ok := freeSpace(dir)
	switch {
	case !ok:
		return Check{"space", "ok", "free space cannot be determined on this system", ""}
	case free < lowSpace:
		return Check{"space", "warn", fmt.Sprintf("%s free on the disk of %s", term.Size(free), dir), "free some space, or choose another disk with --store"}
	}
	return Check{"space", "ok", term.Size(free) + " free", ""}
}
