package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// folder is the session's folder.
func (a *Agent) folder() string {
	if folders := a.opt.Permissions.Config.Folders; len(folders) > 0 {
		return folders[0]
	}
	return a.opt.Session.Opened.CWD
}

// workingDirectory is the folder that is on record of a new session when nobody says: the first of its folders,
// else that of this process.
func workingDirectory(o *Options) string {
	if folders := o.Permissions.Config.Folders; len(folders) > 0 {
		return folders[0]
	}
	dir, err := os.Getwd()
	if err != nil { // it was removed: the session has none
		return ""
	}
	return dir
}

// cwd is the current directory: the session's folder, until a call changes it.
func (a *Agent) cwd() string {
	if at := a.at.Load(); at != nil {
		return *at
	}
	return a.folder()
}

// changed is the current directory where something has changed it, or "".
func (a *Agent) changed() string {
	if at := a.at.Load(); at != nil {
		return *at
	}
	return ""
}

// enter goes where the host wants the session to begin.
func (l *loop) enter(ctx context.Context) error {
	if l.a.opt.EnterDir == nil {
		return nil
	}
	dir, told, err := l.a.opt.EnterDir(context.WithValue(ctx, ofKey{}, l.a))
	if err != nil {
		return err
	}
	if dir != "" {
		l.a.at.Store(&dir)
	}
	if told != "" {
		l.hookTexts = append(l.hookTexts, told)
	}
	return nil
}

// goBack goes to the current directory in which a session was when it was left. Where
// that is not possible the person and the model are told.
func (l *loop) goBack(dir string) {
	if dir == "" || dir == l.a.folder() || l.a.opt.RestoreDir == nil {
		return
	}
	err := l.a.opt.RestoreDir(dir)
	if err == nil {
		l.a.at.Store(&dir)
		return
	}
	folder := l.a.folder()
	l.a.at.Store(&folder) // the next turn says so, and it is not tried again
	text := fmt.Sprintf("cannot return to %s; continuing in %s: %v", dir, folder, err)
	l.opened.Notices = append(l.opened.Notices, text)
	l.hookTexts = append(l.hookTexts, text)
}

// watch has files watched for hooks. Names count from the current directory.
func (a *Agent) watch(paths []string) error {
	if a.opt.Hooks.Watch == nil {
		return errors.New("no file watcher is configured; hint: set HookOptions.Watch")
	}
	full := make([]string, len(paths))
	for i, p := range paths {
		if full[i] = p; !filepath.IsAbs(p) {
			full[i] = filepath.Join(a.cwd(), p)
		}
	}
	return a.opt.Hooks.Watch(full)
}
