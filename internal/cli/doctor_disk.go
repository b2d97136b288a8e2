package cli

import (
	"errors"
	"fmt"
	"os"
	"time"
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

func spaceCheck(dir string) check {
	free, ok := freeSpace(dir)
	switch {
	case !ok:
		return check{"space", "ok", "how much is free cannot be told here", ""}
	case free < lowSpace:
		return check{"space", "warn", fmt.Sprintf("%s free on the disk of %s", size(free), dir), "make room, or choose another disk: --store"}
	}
	return check{"space", "ok", size(free) + " free", ""}
}
