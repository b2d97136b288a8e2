//go:build !linux

package cli

import "time"

// monotonic is needed where systemd is.
func monotonic() time.Duration { return 0 }
