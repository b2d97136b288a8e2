package keys

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/holdfast-dev/holdfast/internal/diskfile"
)

// lockTime bounds how long another program is waited for: it may wait for a keyring that a person has to unlock.
const lockTime = keyringTimeout + 10*time.Second

// lock keeps other programs from changing the keys until the function that it returns is called. Where the
// system has no locks it keeps nobody.
func (k *Keys) lock() (unlock func(), err error) {
	if err := os.MkdirAll(k.home, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(k.file+".lock", os.O_CREATE|os.O_RDWR, 0o600) // it stays: to remove it would let two have it
	if err != nil {
		return nil, err
	}
	deadline := time.Now().Add(lockTime)
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		ok, err := diskfile.TryLock(f)
		switch {
		case ok, errors.Is(err, errors.ErrUnsupported):
			return func() { diskfile.Unlock(f); _ = f.Close() }, nil
		case err != nil:
			return nil, errors.Join(fmt.Errorf("lock the keys: %w", err), f.Close())
		case time.Now().After(deadline):
			return nil, errors.Join(fmt.Errorf("%s is held by another program", f.Name()), f.Close())
		}
		time.Sleep(pause) // the kernel has no lock that waits for a bounded time
	}
}
