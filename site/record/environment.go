package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// An environment is the folder in which recordings are made: a home and a project. Its path
// is visible in recordings, so it is always the same.
type environment struct {
	dir string
}

// The account that runs the commands when root makes recordings. Its home is mounted
// at /home/ann, and /etc/passwd has no other user; both apply only to these commands.
const (
	user   = 4711
	passwd = "ann:x:4711:4711::/home/ann:/bin/sh\n"
	enter  = `mount --bind "$STAGE/passwd" /etc/passwd && mount -t tmpfs none /home && mkdir /home/ann &&
mount --bind "$STAGE/home" /home/ann && cd /home/ann/calendar &&
exec setpriv --reuid=4711 --regid=4711 --clear-groups /bin/sh -c "exec $LINE"`
)

// Folders, as seen from site/.
const (
	project = "../internal/demo/project"
	plays   = "record/plays"
)

func newEnvironment(program string) (*environment, error) {
	s := &environment{dir: filepath.Join(os.TempDir(), "recording")}
	if err := os.Mkdir(s.dir, 0o755); err != nil {
		return nil, fmt.Errorf("%w\nhint: another recording may be in progress; otherwise remove the folder", err)
	}
	b, err := os.ReadFile(program)
	if err == nil {
		err = os.Mkdir(filepath.Join(s.dir, "bin"), 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(s.dir, "bin", "holdfast"), b, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(s.dir, "passwd"), []byte(passwd), 0o644)
	}
	if err == nil {
		err = os.Mkdir(filepath.Join(s.dir, "home"), 0o700)
	}
	if err == nil {
		err = giveToUser(filepath.Join(s.dir, "home"))
	}
	return s, err
}

// giveToUser makes the user the owner of a folder.
func giveToUser(dir string) error {
	if os.Getuid() != 0 {
		return nil
	}
	return filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chown(name, user, user)
	})
}

func (s *environment) remove() { _ = os.RemoveAll(s.dir) }

// prepare makes the project of a recording, and returns its folder and the environment of its commands.
func (s *environment) prepare(sc recording) (dir string, env []string, err error) {
	dir = filepath.Join(s.dir, "home", "calendar")
	if sc.fresh {
		if err := os.RemoveAll(dir); err != nil {
			return "", nil, err
		}
		if err := os.CopyFS(dir, os.DirFS(project)); err != nil {
			return "", nil, err
		}
		if err := giveToUser(dir); err != nil {
			return "", nil, err
		}
	}
	home, name := filepath.Join(s.dir, "home"), os.Getenv("USER")
	if os.Getuid() == 0 {
		home, name = "/home/ann", "ann"
	}
	env = []string{
		"STAGE=" + s.dir, "HOME=" + home, "USER=" + name, "PATH=" + filepath.Join(s.dir, "bin") + ":/usr/bin:/bin:/usr/sbin:/sbin",
		"TERM=xterm-256color", "LANG=C.UTF-8", "TZ=UTC",
	}
	if sc.play != "" {
		play, err := os.ReadFile(filepath.Join(plays, sc.play))
		if err != nil {
			return "", nil, err
		}
		file := filepath.Join(s.dir, sc.play)
		if err := os.WriteFile(file, play, 0o644); err != nil {
			return "", nil, err
		}
		env = append(env, "HOLDFAST_MODEL=scripted/"+file)
	}
	return dir, env, nil
}

// record runs the commands of a recording and returns what the terminal showed.
func (s *environment) record(sc recording) ([]chunk, error) {
	dir, env, err := s.prepare(sc)
	if err != nil {
		return nil, err
	}
	var all []chunk
	at := time.Duration(0)
	for i, c := range sc.commands {
		before := "\n"
		if i == 0 {
			before = ""
		}
		all = append(all, chunk{at, before + "\x1b[32m$\x1b[0m \x1b[1m" + c.line + "\x1b[0m\r\n"})
		chunks, err := run(c, sc, dir, env)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.line, err)
		}
		for _, ch := range chunks {
			all = append(all, chunk{at + time.Second + ch.at, ch.text})
		}
		at = all[len(all)-1].at + time.Second
	}
	return all, nil
}
