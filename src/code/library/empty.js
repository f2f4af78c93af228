// A module without members.
'use strict';
