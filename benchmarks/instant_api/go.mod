module instant-api

go 1.22
