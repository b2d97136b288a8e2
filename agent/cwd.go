package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// folder returns the session's folder.
func (a *Agent) folder() string {
	if folders := a.opt.Permissions.Config.Folders; len(folders) > 0 {
		return folders[0]
	}
	return a.opt.Session.Opened.CWD
}

// workingDirectory returns the folder to record for a new session if the caller gave none. This is
// the first of the session's folders, or the working directory of this process if the session has
// no folders.
func workingDirectory(o *Options) string {
	if folders := o.Permissions.Config.Folders; len(folders) > 0 {
		return folders[0]
	}
	dir, err := os.Getwd()
	if err != nil { // the directory was removed, so no folder is recorded
		return ""
	}
	return dir
}

// cwd returns the current directory: the session's folder, until a call changes it.
func (a *Agent) cwd() string {
	if at := a.at.Load(); at != nil {
		return *at
	}
	return a.folder()
}

// changedCwd returns the current directory if it was changed, or "".
func (a *Agent) changedCwd() string {
	if at := a.at.Load(); at != nil {
		return *at
	}
	return ""
}

// enter changes to the directory in which the host wants the session to begin.
func (l *loop) enter(ctx context.Context) error {
	if l.a.opt.EnterDir == nil {
		return nil
	}
	dir, text, err := l.a.opt.EnterDir(context.WithValue(ctx, agentKey{}, l.a))
	if err != nil {
		return err
	}
	if dir != "" {
		l.a.at.Store(&dir)
	}
	if text != "" {
		l.hookTexts = append(l.hookTexts, text)
	}
	return nil
}

// restoreCwd changes to the current directory that a resumed session had. If it cannot do that, it
// notifies the user and the model.
func (l *loop) restoreCwd(dir string) {
	if dir == "" || dir == l.a.folder() || l.a.opt.RestoreDir == nil {
		return
	}
	err := l.a.opt.RestoreDir(dir)
	if err == nil {
		l.a.at.Store(&dir)
		return
	}
	folder := l.a.folder()
	l.a.at.Store(&folder) // the next turn records the directory, so the change is not tried again
	text := fmt.Sprintf("cannot return to %s; continuing in %s: %v", dir, folder, err)
	l.opened.Notices = append(l.opened.Notices, text)
	l.hookTexts = append(l.hookTexts, text)
}

// watch watches files for hooks. Relative paths start at the current directory.
func (a *Agent) watch(paths []string) error {
	if a.opt.Hooks.Watch == nil {
		return errors.New("no file watcher is configured; hint: set Options.Hooks.Watch")
	}
	full := make([]string, len(paths))
	for i, p := range paths {
		if full[i] = p; !filepath.IsAbs(p) {
			full[i] = filepath.Join(a.cwd(), p)
		}
	}
	return a.opt.Hooks.Watch(full)
}
