//go:build !linux

package process

import "time"

// monotonic is needed where systemd is.
func monotonic() time.Duration { return 0 }
