//go:build !linux

package image

import (
	"context"
	"runtime"
)

func (b *build) debootstrap(context.Context) (layer, error) {
	return nil, b.noBase("debootstrap needs Linux, this system is " + runtime.GOOS)
}
