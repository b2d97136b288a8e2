//go:build !linux

package sqlite

import "os"

func sameFile(path string, was os.FileInfo) (bool, error) { return sameByStat(path, was) }
