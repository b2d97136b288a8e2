//go:build !linux

package process

import "time"

// monotonic returns 0: only systemd needs it.
func monotonic() time.Duration { return 0 }
