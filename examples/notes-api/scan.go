package main

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// noteFile is a note found on disk. relPath is relative to its vault and uses
// slashes; folder is its directory part, "" for a note at the root.
type noteFile struct {
	vault   Vault
	relPath string
	folder  string
	file    string
}

// scanVault lists the notes of one vault in a fixed order. Directories that
// cannot be read are reported next to the notes found elsewhere; only an
// unreadable root yields no notes at all.
func scanVault(v Vault, drop []string) ([]noteFile, error) {
	var notes []noteFile
	var problems []error
	err := filepath.WalkDir(v.Root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			if file == v.Root {
				return err
			}
			problems = append(problems, err)
			return nil
		}
		rel, err := filepath.Rel(v.Root, file)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if entry.IsDir() {
			if entry.Name() == ".obsidian" || isDropped(v.Name+"/"+rel, drop) {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(rel) == ".md" && isNoteFile(v.Root, file, entry) {
			folder := strings.TrimSuffix(path.Dir(rel), ".")
			notes = append(notes, noteFile{vault: v, relPath: rel, folder: folder, file: file})
		}
		return nil
	})
	return notes, errors.Join(append(problems, err)...)
}

// isNoteFile accepts regular files, and symbolic links to regular files inside
// the vault. Anything else could leave the vault or never end.
func isNoteFile(root, file string, entry fs.DirEntry) bool {
	if entry.Type()&fs.ModeSymlink == 0 {
		return entry.Type().IsRegular()
	}
	target, err := filepath.EvalSymlinks(file)
	if err != nil || !strings.HasPrefix(target, strings.TrimSuffix(root, string(filepath.Separator))+string(filepath.Separator)) {
		return false
	}
	info, err := os.Stat(target)
	return err == nil && info.Mode().IsRegular()
}

// isDropped says whether a "vault/folder" is one of the dropped ones or below one.
func isDropped(folder string, drop []string) bool {
	for _, d := range drop {
		if coversFolder(d, folder) {
			return true
		}
	}
	return false
}

// coversFolder compares by path elements: "work/Docs" covers "work/Docs/API" but
// not "work/Docs-Archive". A vault's root, "work/", covers only the notes that
// lie directly in it.
func coversFolder(selected, folder string) bool {
	return selected == folder || (!strings.HasSuffix(selected, "/") && strings.HasPrefix(folder, selected+"/"))
}

// folderKey is how a folder is named in requests and answers.
func folderKey(vault, folder string) string { return vault + "/" + folder }
