package workspace

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
)

type listener = net.Listener

// listenIn listens at a unix socket in a folder that a container can write, in place of
// what is there: nothing that lies there is opened or followed. The agent may connect.
func listenIn(run *os.Root, name string) (listener, error) {
	dir, err := run.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	tmp := ".new-" + newID() // nobody can have put something there
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), tmp)})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	uid, gid := agentUser()
	if os.Getuid() == 0 {
		err = run.Lchown(tmp, uid, gid)
	}
	if err == nil {
		if err = run.Rename(tmp, name); err != nil { // something that is not empty lies there
			_, err = removeTree(context.Background(), run, name)
			if err == nil {
				err = run.Rename(tmp, name)
			}
		}
	}
	if err != nil {
		return nil, errors.Join(err, l.Close(), run.Remove(tmp))
	}
	return l, nil
}
