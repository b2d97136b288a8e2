package keys

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/internal/diskfile"
)

// lockTime is how long to wait for another program, which may be waiting for the user to unlock a
// keyring.
const lockTime = keyringTimeout + 10*time.Second

// lock prevents other programs from changing the keys until the returned function is called. On
// systems without file locks it has no effect.
func (k *Keys) lock() (unlock func(), err error) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), lockTime, errors.New("another program holds it"))
	defer cancel()
	if unlock, err = diskfile.WaitLock(ctx, k.file+".lock"); err != nil {
		return nil, fmt.Errorf("lock the keys in %s: %w", k.file, err)
	}
	return unlock, nil
}
