// Fill fills a folder with everything that a hostile program can create there: links that lead out, loops,
// FIFOs, sockets, devices, names of all kinds, folders without permissions, a very deep folder and one with
// very many files. With -race it keeps replacing folders by links until it is killed.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

func main() {
	many := flag.Int("many", 1000, "how many files lie in one folder")
	deep := flag.Int("deep", 1000, "how deep one folder is")
	out := flag.String("out", "/etc", "what links lead to")
	race := flag.Bool("race", false, "swap folders for links until it is killed")
	flag.Parse()
	err := os.Chdir(flag.Arg(0))
	if err == nil && *race {
		swap(*out)
	}
	if err == nil {
		err = fill(*many, *deep, *out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("filled")
}

func fill(many, deep int, out string) error {
	var failed []error
	do := func(err error) { failed = append(failed, err) }
	for i, to := range []string{"/", "/etc", "/etc/passwd", "..", "../..", "link-5", "link-7", "link-6", "no/such", out, filepath.Join(out, "file"), "."} {
		do(os.Symlink(to, fmt.Sprintf("link-%d", i)))
	}
	do(syscall.Mkfifo("fifo", 0o600))
	do(socket("socket"))
	for i, dev := range []int{1<<8 | 3, 1<<8 | 5, 5 << 8, 7<<8 | 99} {
		err := syscall.Mknod(fmt.Sprintf("device-%d", i), syscall.S_IFCHR|0o666, dev)
		if !errors.Is(err, syscall.EPERM) { // only root may
			do(err)
		}
	}
	for _, name := range []string{"a\nb", "\n", "\xff\xfe", strings.Repeat("x", 255), "-rf", " ", "...", "*", "\x1b[2J", "ünï", `a\b`, "%2e%2e"} {
		do(os.WriteFile(name, []byte(name), 0o600))
		do(os.MkdirAll(filepath.Join("names", name, name), 0o700))
	}
	do(os.Link("a\nb", "again"))
	sparse, err := os.Create("sparse")
	do(err)
	do(sparse.Truncate(1 << 42))
	do(sparse.Close())
	do(enter("many", func() error {
		for i := range many {
			f, err := os.Create(fmt.Sprintf("file-%07d", i))
			if err != nil {
				return err
			}
			if err := f.Close(); err != nil {
				return err
			}
		}
		return nil
	}))
	do(enter("deep", func() error {
		for range deep {
			if err := os.Mkdir("d", 0o700); err != nil {
				return err
			}
			if err := os.Chdir("d"); err != nil {
				return err
			}
		}
		return os.Symlink(out, "link")
	}))
	do(os.WriteFile("vendor.jsonl", []byte("{}\n"), 0o600))
	for _, mode := range []os.FileMode{0, 0o100, 0o200, 0o300, 0o400, 0o500} {
		dir := fmt.Sprintf("mode-%o", mode)
		do(os.MkdirAll(filepath.Join(dir, "in"), 0o700))
		do(os.WriteFile(filepath.Join(dir, "in", "file"), nil, 0))
		do(os.Chmod(filepath.Join(dir, "in"), mode))
		do(os.Chmod(dir, mode))
	}
	return errors.Join(failed...)
}

// enter calls a function in a new folder and returns to the old one.
func enter(dir string, do func() error) error {
	home, err := os.Open(".")
	if err != nil {
		return err
	}
	defer home.Close()
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	if err := os.Chdir(dir); err != nil {
		return err
	}
	return errors.Join(do(), home.Chdir())
}

func socket(name string) error {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	return errors.Join(syscall.Bind(fd, &syscall.SockaddrUnix{Name: name}), syscall.Close(fd))
}

// swap never returns. Failures are ignored.
func swap(out string) {
	for n := 0; ; n++ {
		dir := fmt.Sprintf("swap-%d", n%10)
		_ = os.MkdirAll(filepath.Join(dir, "sub", "sub"), 0o700)
		_ = os.Symlink(out, filepath.Join(dir, "sub", "link"))
		_ = os.Rename(dir, "away")
		_ = os.Symlink(out, dir)
		_ = os.Remove(dir)
		_ = os.Rename("away", dir)
		_ = os.Rename(filepath.Join(dir, "sub"), "moved")
		_ = os.Symlink(filepath.Join("..", ".."), filepath.Join(dir, "sub"))
		if n%100 == 0 {
			fmt.Println("swapped")
		}
	}
}
