package keys

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/internal/diskfile"
)

// lockTime bounds how long another program is waited for: it may wait for a keyring that a person has to unlock.
const lockTime = keyringTimeout + 10*time.Second

// lock keeps other programs from changing the keys until the function that it returns is called. Where the
// system has no locks it keeps nobody.
func (k *Keys) lock() (unlock func(), err error) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), lockTime, errors.New("another program holds it"))
	defer cancel()
	if unlock, err = diskfile.WaitLock(ctx, k.file+".lock"); err != nil {
		return nil, fmt.Errorf("lock the keys in %s: %w", k.file, err)
	}
	return unlock, nil
}
