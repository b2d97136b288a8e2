//go:build linux

package escape

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/holdfast-dev/holdfast/sandbox"
)

// waitsReady waits until the probe waits; it returns false if the probe ended first.
func (f *fixture) waitsReady(ended <-chan struct{}) bool {
	for {
		select {
		case <-ended:
			return false
		default:
		}
		if appears(f.WS+"/ready", 50*time.Millisecond) {
			return true
		}
	}
}

// secondSandbox opens a sandbox of another process on the same workspace, runs a trivial command in it, and
// closes it.
func (f *fixture) secondSandbox() {
	o := f.box
	o.Plain, o.Probe, o.Before, o.Beside, o.Terminal = false, []string{"/bin/true"}, nil, nil, false
	f.other(o)
}

// proxiedSandbox keeps a sandbox with a proxy open while the probe, in another one, searches for it.
func proxiedSandbox(f *fixture, ended <-chan struct{}) {
	if !f.waitsReady(ended) {
		return
	}
	resume := func() { _ = os.WriteFile(f.WS+"/go", nil, 0o666) }
	if f.box.Plain {
		resume()
		return
	}
	o := f.box
	o.Settings, _ = json.Marshal(&sandbox.Settings{Network: &sandbox.Network{AllowedDomains: []string{"allowed.test"}}})
	o.Probe = []string{"/bin/sh", "-c", "touch '" + f.WS + "/proxied'; while [ ! -e '" + f.WS + "/done' ]; do sleep 0.02; done"}
	over := make(chan struct{})
	go func() {
		defer close(over)
		f.other(o)
	}()
	for !appears(f.WS+"/proxied", 10*time.Millisecond) {
		select {
		case <-over:
			f.addHarm("the other sandbox did not run")
			resume()
			return
		default:
		}
	}
	resume()
	<-ended
	_ = os.WriteFile(f.WS+"/done", nil, 0o666)
	<-over
}

// other runs another supervisor with a separate order.
func (f *fixture) other(o order) {
	dir := filepath.Join(f.Base, "other")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		f.addHarm("%v", err)
		return
	}
	if isRoot {
		_ = os.Chown(dir, f.caller.uid, f.caller.uid)
	}
	if err := writeJSON(filepath.Join(dir, "order.json"), o); err != nil {
		f.addHarm("%v", err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	c := exec.CommandContext(ctx, f.Bin, "supervise", dir)
	c.Dir, c.Env = f.WS, []string{"PATH=/usr/bin:/bin", "HOME=" + f.Home, "HOLDFAST_ESCAPE=" + f.Base}
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	f.become(c)
	if out, err := c.CombinedOutput(); err != nil {
		f.addHarm("the other sandbox: %v: %s", err, out)
	}
}
