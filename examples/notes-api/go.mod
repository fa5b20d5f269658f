module notes-api

go 1.21
